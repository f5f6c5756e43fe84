"""Mutation tests of eval suites: made answers, which must fail or pass, in place of the application's."""
