module.exports = [
  { vars: { name: "Bo" }, assert: [{ type: "equals", value: "Hi, Bo!" }] },
  { vars: { name: "Cy", mark: "?" }, assert: [{ type: "equals", value: "Hi, Bo!" }] },
];
