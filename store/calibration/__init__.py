"""What measuring things against themselves has shown: noise floors, and a run's own rate of false alarms."""
