export default function (output) { return output.length > 3; }
