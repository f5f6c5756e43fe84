module.exports = class { constructor(o){this.o=o} id(){return "mine"} async callApi(p){ return {output:"FROM-JS "+((this.o&&this.o.config)||{}).mark+" "+p} } };
