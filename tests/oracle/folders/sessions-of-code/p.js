module.exports = class {
  id() {
    return "sessions";
  }
  async callApi(prompt) {
    return { output: prompt, sessionId: `s-${prompt}` };
  }
};
