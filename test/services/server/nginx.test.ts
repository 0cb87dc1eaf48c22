import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { startService } from '../../support/service.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { ofSuite } from '../../support/of-suite.ts'

const isMissing = spawnSync('nginx', ['-v']).error !== undefined
const skip = isMissing ? 'nginx is missing: apt-get install nginx-light' : false

/** `proxy_pass` as it is by default: HTTP/1.0 and `Connection: close` to the service. */
const configOf = (directory: string, service: number, ports: readonly number[]): string => `
daemon off; master_process off; pid ${directory}/pid; error_log ${directory}/error.log;
events { worker_connections 256; }
http {
  access_log off; client_max_body_size 10m;
  client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy; fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi; scgi_temp_path ${directory}/scgi;
  server { listen 127.0.0.1:${ports[0]}; location / { proxy_pass http://127.0.0.1:${service}; } }
  server {
    listen 127.0.0.1:${ports[1]};
    location / { proxy_pass http://127.0.0.1:${service}; proxy_request_buffering off; }
  }
}`

describe('behind nginx, with its default proxy_pass', { skip }, () => {
  let nginx: ReturnType<typeof spawn>
  const directory = temporaryOfSuite()
  const ports: number[] = []
  const service = ofSuite(() => startService({ sealMaxWaitMs: 3_600_000 }))
  const acme = ofSuite(() => service().company('acme'))
  before(async () => {
    ports.push(await freePort(), await freePort())
    const config = join(directory, 'nginx.conf')
    await writeFile(config, configOf(directory, service().port, ports))
    nginx = spawn('nginx', ['-e', `${directory}/error.log`, '-p', directory, '-c', config], { stdio: 'inherit' })
    await eventually(async () => (await fetch(`http://127.0.0.1:${ports[0]}/livez`).catch(() => undefined))?.ok)
  })
  after(async () => {
    nginx.kill()
    await once(nginx, 'close')
  })

  const BYTES = Buffer.alloc(5_000_000, 'x')
  const FORM = 'multipart/form-data; boundary=x'
  const refusals = [
    [401, 'wrong', FORM],
    [403, 'R', FORM],
    [413, 'U', 'application/json'],
    [415, 'U', 'text/plain'],
  ] as const
  for (const [status, level, type] of refusals)
    it(`a client that sends 5 MB hears ${status}`, async () => {
      const key = level === 'wrong' ? 'a-key-of-no-company' : acme().keys[level]
      const headers = { 'x-api-key': key, 'content-type': type }
      for (const port of [...ports, ...ports, ...ports]) {
        const url = `http://127.0.0.1:${port}/api/v1/evidences/acme/evidence`
        const response = await fetch(url, { method: 'POST', headers, body: BYTES })
        await response.arrayBuffer()
        assert.equal(response.status, status)
      }
    })
})
