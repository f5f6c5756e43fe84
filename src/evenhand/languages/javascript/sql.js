// Reads SQL with a parser that was loaded already: what goes in and what comes out is JSON text.
(parser, database) => (given) => {
  const { sql, tables, columns } = JSON.parse(given)
  const beyond = (used, allowed) => {
    const patterns = allowed.map((pattern) => new RegExp(`^${pattern}$`, 'i'))
    return patterns.length ? used.filter((name) => !patterns.some((pattern) => pattern.test(name))) : []
  }
  let read
  try {
    read = parser.parse(sql, { database })
  } catch (error) {
    return JSON.stringify({ wrong: String(error.message), line: error.location?.start.line ?? 0, column: error.location?.start.column ?? 0 })
  }
  return JSON.stringify({ tables: beyond(read.tableList, tables), columns: beyond(read.columnList, columns) })
}
