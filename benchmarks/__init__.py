"""Speed, as ratios: both sides in one run, in turns, after their answers were checked.

``python -m benchmarks`` runs everything and rewrites ``benchmarks/results``; see ``--help``.
"""
