"""The old name of `arborand.paper.experiment`, which goes away in version 0.3."""

import warnings

from arborand.paper.experiment import *  # noqa: F403
from arborand.paper.experiment import __all__ as __all__

warnings.warn(
    "arborand.experiment is now called arborand.paper.experiment; the old name goes away in "
    "version 0.3",
    DeprecationWarning,
    stacklevel=2,
)
