import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../server/index.ts'

/** A port or a volume. */
interface Named {
  readonly name: string
  readonly containerPort: number
  readonly mountPath: string
}

const manifest = readFileSync('server/kubernetes.yaml', 'utf8')
const image = readFileSync('server/Dockerfile', 'utf8').replaceAll(/^#.*$/gm, '')
const imageSettings = Object.fromEntries(Array.from(image.matchAll(/(EVIDENCE_\w+)=(\S+)/g), ([, ...pair]) => pair))

/** The server of a manifest, and its configuration: the settings of the image and of the manifest. */
function serverOf(text: string) {
  const parts = parseAllDocuments(text).map((part) => part.toJS())
  const { data } = parts.find(({ kind }) => kind === 'ConfigMap')
  const { spec } = parts.find(({ kind }) => kind === 'StatefulSet')
  const [server] = spec.template.spec.containers
  const readFile = (): Uint8Array => Buffer.from('postgres://evidence:password@database:5432/evidence')
  const config = loadConfig({ args: [], env: { ...imageSettings, ...data }, readFile })
  const mounts: readonly Named[] = server.volumeMounts
  const pathOf = (volume: string): string => mounts.find(({ name }) => name === volume)?.mountPath ?? ''
  return { data, replicas: spec.replicas, server, config, pathOf }
}

describe('the manifest for Kubernetes', () => {
  it('runs one server with LevelDB, with the ports and the folder of the image', () => {
    const { replicas, server, config, pathOf } = serverOf(manifest)
    assert.deepEqual([replicas, config.records, config.blobs], [1, 'level', 'files'])
    const ports = server.ports.map(({ name, containerPort }: Named) => [name, containerPort])
    const operations = Number(config.metricsAddress?.split(':').at(-1))
    assert.deepEqual(Object.fromEntries(ports), { http: config.port, operations })
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      assert.equal(server[probe].httpGet.port, 'operations')
    assert.ok(!/port: 9464|targetPort: operations/.test(manifest), 'a Service serves it')
    assert.equal(pathOf('data'), config.dataDir)
    const { version }: { readonly version: string } = JSON.parse(readFileSync('package.json', 'utf8'))
    assert.ok(server.image.endsWith(`:v${version}`), server.image)
  })

  it('runs three with PostgreSQL and a bucket by the command at its top, with secrets that compose makes', () => {
    const [, mark = '', from = '', to = ''] = /sed 's\/(.+?)\/\/; s\/(.+?)\/(.+?)\/'/.exec(manifest) ?? []
    const { data, replicas, config, pathOf } = serverOf(manifest.replaceAll(mark, '').replaceAll(from, to))
    const { records, blobs, tsa, anchor } = config
    assert.deepEqual([replicas, records, blobs, tsa, anchor], [3, 'postgres', 's3', 'none', 'none'])
    const compose = readFileSync('server/compose.yaml', 'utf8')
    const made = Array.from(compose.matchAll(/^#.*secrets\/([\w.-]+)/gm), ([, name]) => `${pathOf('secrets')}/${name}`)
    const named = Object.values(data).filter((value) => String(value).startsWith('/'))
    assert.equal(named.length, 4)
    for (const path of named) assert.ok(made.includes(String(path)), String(path))
  })
})
