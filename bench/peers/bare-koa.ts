import Router from '@koa/router'
import Koa from 'koa'
import type { AddressInfo } from 'node:net'

/** A Koa app with one route that answers the JSON of its argument, as one would write it first: the measure of `http`. */
const [body = '{}'] = process.argv.slice(2)
const answer = JSON.parse(body) as object

const router = new Router()
router.get('/evidences/:company/evidence/:externalId', (ctx) => {
  ctx.body = answer
})
const app = new Koa()
app.use(router.routes())
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
