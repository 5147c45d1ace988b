"""From records to tidy scores, tables and figures."""
