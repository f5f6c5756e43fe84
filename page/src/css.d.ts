/** Style sheets are bundled into one; importing one has no value. */
declare module "*.css";
