"""What is known of a table, without Spark: hierarchies, domains, rows as codes, labels."""
