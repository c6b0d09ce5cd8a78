"""How rows come into classes; one folder a method, all with the face in `method`."""
