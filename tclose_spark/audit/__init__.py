"""Is a table that others made safe already? Every measure, exact, on any table: `audit_table`, `explain_class`."""
