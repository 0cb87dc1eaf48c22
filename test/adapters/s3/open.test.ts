import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { openS3Blobs, type S3Settings } from '../../../adapters/s3/index.ts'
import { isRegistryError, type ErrorCode } from '../../../core/errors.ts'

/** How an opening is refused. What works is shown on a real S3, in the tests beside this. */

const CREDENTIALS = { accessKeyId: 'id', secretAccessKey: 'the-secret-of-this-test' }

async function refusal(code: ErrorCode, settings: Partial<S3Settings>): Promise<string> {
  try {
    await openS3Blobs({ bucket: 'bucket', region: 'us-east-1', credentials: CREDENTIALS, attempts: 2, ...settings })
  } catch (error) {
    assert.ok(isRegistryError(error, code), `want ${code}, got ${String(error)}`)
    for (const text of [error.message, String(error.cause), JSON.stringify(error.cause ?? null)])
      assert.ok(!text.includes(CREDENTIALS.secretAccessKey) && !text.includes('signed-text'))
    return error.message
  }
  return assert.fail('it was opened')
}

/** Asks a server that answers everything alike. */
async function refusalBy(
  listener: RequestListener,
  code: ErrorCode,
  settings: Partial<S3Settings> = {},
): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    return await refusal(code, { endpoint: `http://127.0.0.1:${port}`, ...settings })
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

const answering =
  (status: number, code = ''): RequestListener =>
  (req, res) => {
    req.resume()
    res.writeHead(status, { 'content-type': 'application/xml' })
    res.end(
      req.method === 'HEAD' || code === ''
        ? undefined
        : `<?xml version="1.0"?><Error><Code>${code}</Code><Message>so it is</Message><StringToSign>signed-text</StringToSign></Error>`,
    )
  }

describe('opening S3 blobs', () => {
  test('refuses settings that no bucket could be reached with', async () => {
    for (const bucket of ['', 'a b', '../x', 'x'.repeat(300)]) await refusal('CONFIG_ERROR', { bucket })
    for (const prefix of ['a b', 'é', 'x'.repeat(513)]) await refusal('CONFIG_ERROR', { prefix })
    for (const partBytes of [0, 5 * 2 ** 20 - 1, 6e6 + 0.5, 2 ** 33]) await refusal('CONFIG_ERROR', { partBytes })
  })

  test('what does not pass by itself is CONFIG_ERROR, and says what it was', async () => {
    assert.match(
      await refusalBy(answering(403, 'SignatureDoesNotMatch'), 'CONFIG_ERROR'),
      /SignatureDoesNotMatch \(403/,
    )
    assert.match(await refusalBy(answering(403, 'AccessDenied'), 'CONFIG_ERROR'), /AccessDenied \(403.*credentials/)
    assert.match(await refusalBy(answering(404, 'NoSuchBucket'), 'CONFIG_ERROR'), /NoSuchBucket \(404/)
    await refusalBy(answering(301, 'PermanentRedirect'), 'CONFIG_ERROR')
    await refusalBy(answering(400, 'AuthorizationHeaderMalformed'), 'CONFIG_ERROR')
  })

  test('what may pass is UNAVAILABLE', async () => {
    await refusalBy(answering(503, 'SlowDown'), 'UNAVAILABLE')
    await refusalBy(answering(500), 'UNAVAILABLE')
    await refusalBy((req) => req.socket.destroy(), 'UNAVAILABLE')
    assert.match(await refusalBy(() => undefined, 'UNAVAILABLE', { idleMs: 100 }), /TimeoutError/)
    // A port that was free a moment ago.
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    assert.match(await refusal('UNAVAILABLE', { endpoint: `http://127.0.0.1:${port}` }), /ECONNREFUSED/)
  })

  test('a server that takes everything and keeps nothing is refused', async () => {
    await refusalBy(answering(200), 'CONFIG_ERROR')
  })

  test('a service that gives no access to what is missing is refused: a missing blob would look like a fault', async () => {
    const listener: RequestListener = (req, res) => {
      req.resume()
      if (req.method === 'GET') return answering(403, 'AccessDenied')(req, res)
      res.writeHead(req.method === 'DELETE' ? 204 : 200, { 'last-modified': new Date().toUTCString() }).end()
    }
    assert.match(await refusalBy(listener, 'CONFIG_ERROR'), /AccessDenied/)
  })
})
