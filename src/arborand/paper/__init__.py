"""Everything that exists because of the paper, "Efficient Sampling of Dependency Structures".

- `arborand.paper.reference`: its algorithms line by line, one file per algorithm;
- `arborand.paper.experiment`: its runtime experiment;
- `arborand.paper.illustrations`: its two illustrations, drawn from actual runs;
- `arborand.paper.commands`: ``arborand experiment`` and ``arborand illustrate``.

The reference algorithms judge the fast path, so they import nothing from it.  The other three
modules use both.
"""
