"""The cluster is always the cheapest one that serves its pods: what it would cost if it were bought today, and the way
there in safe steps."""
