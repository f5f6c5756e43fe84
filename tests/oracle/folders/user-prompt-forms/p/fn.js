module.exports.build = ({vars, provider}) => `js ${vars.x} ${provider.id}`;
