"""Node memory under fire: replicas killed, paused and lied to, and no label is lost, resurrected or given twice."""
