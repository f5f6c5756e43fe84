"""How far judges can be trusted: agreement, calibration, corrected numbers, audits, canaries."""
