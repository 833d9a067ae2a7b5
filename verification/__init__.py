"""The statistical harness: tells whether a sampler has the law that it promises.

The files, in the order in which a judgement is made:

``graphs``
    Small named graphs, benign and hostile, all of whose trees can be listed.
``laws``
    What should be drawn: exact laws over trees, ordered draws without replacement, arcs.
``goodness_of_fit``
    Counts against probabilities: the G test, the exact binomial test, families of them.
``judges``
    Draws against laws: turns the output of any sampler into counts and asks for a verdict.
``trials``
    A sampler, a graph and a number of draws, waiting for a seed.
``ledger``
    How sure we are: one false-alarm budget for a whole run, shared by all registered checks.
``calibration``
    The harness judged by itself: p-values of exact draws must be uniform.
``faults``
    Small samplers with a switch each that makes them wrong.
``mutants``
    Deliberately wrong samplers, which the harness must reject, next to their sound twins.
``twin``
    The library's samplers in plain Python, drawing the same trees: to read, to compare, to break.
``twin_faults``
    Slips in the twin, as they might be made in the compiled core.
``library``
    The library's samplers in the form that trials take.
``walk_lengths``
    How many steps Wilson's walks take, exactly.
``library_checks``
    The register's part for the library.
``checks``
    The register: every random assertion of the test suite, one entry each.

Those of the long suite, ``python -m verification``:

``random_graphs``
    Families of random graphs, others in every run.
``high_precision``
    log Z and marginals in as many digits as prove them right.
``with_mpmath``
    The same by mpmath: a second judge, of extreme scores.
``power``
    The smallest bias that a check would find.
``long_suite``
    The checks.
``runner``
    Seeds, processes, and the second chance of a check that fails.
``sources``
    Which sources a run, or a report, is of.
``report``
    What a run leaves behind.
``publishing``
    The report as a part of the documentation.

What finds out what the tests miss is in ``hardening``: mutants of the sources, a fuzzer for
sanitizers, and the same answers on other machines.

A sampler is a plain function ``(log_weights, num_draws, seed) -> heads``; nothing here knows how
it works. The package is for tests only, and is not installed with the library.
"""
