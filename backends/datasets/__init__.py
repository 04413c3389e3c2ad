"""Files of samples: read, cleaned, put in order, changed at random and handed out in batches; numpy only."""
