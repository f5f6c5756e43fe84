module.exports = (output, context) => `${output.text}/${output.label}`;
