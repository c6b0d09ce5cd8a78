"""Audits of any table, made by any tool: k, l, t, (n, t), attacks and usefulness."""
