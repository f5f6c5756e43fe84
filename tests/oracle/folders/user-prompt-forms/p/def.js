module.exports = async ({vars}) => ({prompt: [{role: 'user', content: vars.x}], config: {temperature: 1}});
