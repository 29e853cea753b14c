"""Put faults into models at every stage and see whether the checker finds and blames them."""
