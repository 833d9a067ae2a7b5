"""What needs torch."""

import torch

# The machine's cores are for the tests, and compiled functions start threads of their own.
torch.set_num_threads(1)
