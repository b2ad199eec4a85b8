"""What a run is told: sections, options, the configuration file, places of files."""
