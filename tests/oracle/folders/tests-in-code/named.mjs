export const cases = Promise.resolve([{ vars: { name: "Di" } }]);
