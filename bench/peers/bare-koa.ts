import Router from '@koa/router'
import Koa from 'koa'
import { listen } from './listen.ts'

/**
 * `bare-koa JSON`: a Koa server with one route that returns this JSON, written in the simplest way. `http` compares the
 * registry's server with it.
 */
const [json = '{}'] = process.argv.slice(2)
const body: object = JSON.parse(json)

const router = new Router()
router.get('/api/v1/evidences/:company/evidence/:externalId', (ctx) => {
  ctx.body = body
})
const app = new Koa()
app.use(router.routes())
listen(app)
