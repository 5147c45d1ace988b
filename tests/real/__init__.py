"""Checks that need real weights and real questions; `--real-hub` names the folder that has them."""
