"""What only real weights and real questions can show; `--real-hub` names the folder that has them."""
