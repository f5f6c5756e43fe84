"""JavaScript that users wrote: short code in an embedded engine, files that need packages in Node."""
