module.exports.any = async (name, context) => {
  if (name !== "beforeAll") return;
  context.suite.defaultTest.assert = [{ type: "contains", value: "Please", metric: "polite" }];
  return context;
};
