"""What writes documentation: pages made from code, the site, and pictures that a run makes."""
