"""Tests of judges: probes, tried variants, canaries' reports."""
