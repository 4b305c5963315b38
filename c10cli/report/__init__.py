"""Values as text: diagnostics, tables and reports."""
