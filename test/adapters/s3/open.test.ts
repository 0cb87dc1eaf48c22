import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { describe, test } from 'node:test'
import { openS3Blobs, type S3Settings } from '../../../adapters/s3/index.ts'
import { isRegistryError, type ErrorCode } from '../../../core/errors.ts'
import { freePort, listenOnLoopback } from '../../support/ports.ts'

/** How opening fails. That it succeeds is tested with a real S3, in `service.test.ts`. */

const CREDENTIALS = { accessKeyId: 'id', secretAccessKey: 'the-secret-of-this-test' }

async function openError(code: ErrorCode, settings: Partial<S3Settings>): Promise<string> {
  try {
    await openS3Blobs({ bucket: 'bucket', region: 'us-east-1', credentials: CREDENTIALS, attempts: 2, ...settings })
  } catch (error) {
    assert.ok(isRegistryError(error, code), `expected ${code}, got ${String(error)}`)
    for (const text of [error.message, String(error.cause), JSON.stringify(error.cause ?? null)])
      assert.ok(!text.includes(CREDENTIALS.secretAccessKey) && !text.includes('signed-text'))
    return error.message
  }
  return assert.fail('the store was opened')
}

/** Opens a store on a server that handles all requests in the same way. */
async function openErrorWith(
  listener: RequestListener,
  code: ErrorCode,
  settings: Partial<S3Settings> = {},
): Promise<string> {
  const server = createServer(listener)
  const port = await listenOnLoopback(server)
  try {
    return await openError(code, { endpoint: `http://127.0.0.1:${port}`, ...settings })
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

const respondWith =
  (status: number, code = ''): RequestListener =>
  (req, res) => {
    req.resume()
    res.writeHead(status, { 'content-type': 'application/xml' })
    res.end(
      req.method === 'HEAD' || code === ''
        ? undefined
        : `<?xml version="1.0"?><Error><Code>${code}</Code><Message>an ` +
            'error</Message><StringToSign>signed-text</StringToSign></Error>',
    )
  }

describe('opening S3 blobs', () => {
  test('rejects invalid settings', async () => {
    for (const bucket of ['', 'a b', '../x', 'x'.repeat(300)]) await openError('CONFIG_ERROR', { bucket })
    for (const prefix of ['a b', 'é', 'x'.repeat(513)]) await openError('CONFIG_ERROR', { prefix })
    for (const partBytes of [0, 5 * 2 ** 20 - 1, 6e6 + 0.5, 2 ** 33]) await openError('CONFIG_ERROR', { partBytes })
  })

  test('throws CONFIG_ERROR with the reason for an error that does not pass by itself', async () => {
    assert.match(
      await openErrorWith(respondWith(403, 'SignatureDoesNotMatch'), 'CONFIG_ERROR'),
      /SignatureDoesNotMatch \(403/,
    )
    assert.match(
      await openErrorWith(respondWith(403, 'AccessDenied'), 'CONFIG_ERROR'),
      /AccessDenied \(403.*credentials/,
    )
    assert.match(await openErrorWith(respondWith(404, 'NoSuchBucket'), 'CONFIG_ERROR'), /NoSuchBucket \(404/)
    await openErrorWith(respondWith(301, 'PermanentRedirect'), 'CONFIG_ERROR')
    await openErrorWith(respondWith(400, 'AuthorizationHeaderMalformed'), 'CONFIG_ERROR')
    // A service without conditional puts.
    await openErrorWith(respondWith(501, 'NotImplemented'), 'CONFIG_ERROR')
  })

  test('throws CONFIG_ERROR if what was written cannot be read', async () => {
    const listener: RequestListener = (req, res) =>
      req.method === 'GET' ? respondWith(404, 'NoSuchKey')(req, res) : respondWith(200)(req, res)
    assert.match(await openErrorWith(listener, 'CONFIG_ERROR'), /does not return what was just written/)
  })

  test('throws UNAVAILABLE for an error that may pass', async () => {
    await openErrorWith(respondWith(503, 'SlowDown'), 'UNAVAILABLE')
    await openErrorWith(respondWith(500), 'UNAVAILABLE')
    await openErrorWith((req) => req.socket.destroy(), 'UNAVAILABLE')
    assert.match(await openErrorWith(() => undefined, 'UNAVAILABLE', { idleMs: 100 }), /TimeoutError/)
    const endpoint = `http://127.0.0.1:${await freePort()}`
    assert.match(await openError('UNAVAILABLE', { endpoint }), /ECONNREFUSED/)
  })

  test('rejects a server that accepts everything and stores nothing', async () => {
    await openErrorWith(respondWith(200), 'CONFIG_ERROR')
  })

  test('rejects a service that returns 403 for missing objects: a missing blob would look like an outage', async () => {
    const listener: RequestListener = (req, res) => {
      req.resume()
      if (req.method === 'GET') return respondWith(403, 'AccessDenied')(req, res)
      res.writeHead(req.method === 'DELETE' ? 204 : 200, { 'last-modified': new Date().toUTCString() }).end()
    }
    assert.match(await openErrorWith(listener, 'CONFIG_ERROR'), /AccessDenied/)
  })
})
