"""Stories: a cluster, what happens to it, what must hold. Written once, played on a virtual cluster and a real one."""
