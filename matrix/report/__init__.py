"""Reports: every renderer is a pure function of the one report dict (`model.Report`); only `write` touches the disk."""
