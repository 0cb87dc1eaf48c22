import type Koa from 'koa'

/** Listens on a free port, and prints the URL. Ends with SIGTERM. */
export function listen(app: Koa): void {
  const server = app.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (typeof address === 'object') console.log(JSON.stringify({ url: `http://127.0.0.1:${address?.port}` }))
  })
  process.once('SIGTERM', () => {
    server.close()
    server.closeAllConnections()
  })
}
