import Router from '@koa/router'
import Koa from 'koa'

/**
 * `bare-koa JSON`: a Koa server with one route that returns this JSON, written in the simplest way. `http` compares the
 * registry's server with it.
 */
const [json = '{}'] = process.argv.slice(2)
const body: object = JSON.parse(json)

const router = new Router()
router.get('/evidences/:company/evidence/:externalId', (ctx) => {
  ctx.body = body
})
const app = new Koa()
app.use(router.routes())
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(JSON.stringify({ url: `http://127.0.0.1:${address?.port}` }))
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
