"""Three ways to find out what the tests miss: mutants, fuzzing under sanitizers, other machines."""
