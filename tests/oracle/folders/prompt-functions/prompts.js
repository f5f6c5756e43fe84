module.exports.shout = ({ vars, provider }) => `${vars.name.toUpperCase()} ${provider.id}`;
