"""The old name of `arborand.paper.reference`, which goes away in version 0.3."""

import warnings

from arborand.paper.reference import *  # noqa: F403
from arborand.paper.reference import __all__ as __all__

warnings.warn(
    "arborand.reference is now called arborand.paper.reference; the old name goes away in "
    "version 0.3",
    DeprecationWarning,
    stacklevel=2,
)
