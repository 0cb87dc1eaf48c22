import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../server/index.ts'

/** What is checked of the parts of the manifest. */
interface ConfigMap {
  readonly data: Readonly<Record<string, string>>
}
interface StatefulSet {
  readonly spec: {
    readonly replicas: number
    readonly template: {
      readonly spec: {
        readonly containers: readonly [Container]
        readonly volumes: readonly { readonly name: string }[]
      }
    }
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[]
  }
}
interface Container {
  readonly image: string
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}

const manifest = readFileSync('server/kubernetes.yaml', 'utf8')
/** The settings of the image. */
const image = /^ENV ((?:.*\\\n)*.*)$/m.exec(readFileSync('server/Dockerfile', 'utf8'))?.[1] ?? ''
const imageSettings = Object.fromEntries(Array.from(image.matchAll(/(EVIDENCE_\w+)=(\S+)/g), ([, ...pair]) => pair))

/** The parts of a manifest, and the configuration of a server with its settings. */
function partsOf(text: string) {
  const parts = parseAllDocuments(text).map((part) => part.toJS())
  const [{ data }]: readonly [ConfigMap] = [parts.find(({ kind }) => kind === 'ConfigMap')]
  const [{ spec }]: readonly [StatefulSet] = [parts.find(({ kind }) => kind === 'StatefulSet')]
  const files: string[] = []
  const readFile = (path: string): Uint8Array => {
    files.push(path)
    return Buffer.from('postgres://evidence:password@database:5432/evidence')
  }
  const config = loadConfig({ args: [], env: { ...imageSettings, ...data }, readFile })
  const [server] = spec.template.spec.containers
  return { data, spec, server, config, files }
}

describe('the manifest for Kubernetes', () => {
  it('runs one server with LevelDB, with the ports and the folder of the image', () => {
    const { spec, server, config, files } = partsOf(manifest)
    assert.deepEqual([spec.replicas, config.records, config.blobs, files], [1, 'level', 'files', []])
    assert.deepEqual(
      server.ports.map(({ name, containerPort }) => [name, containerPort]),
      [
        ['http', config.port],
        ['operations', Number(config.metricsAddress?.split(':').at(-1))],
      ],
    )
    const { version }: { readonly version: string } = JSON.parse(readFileSync('package.json', 'utf8'))
    assert.ok(server.image.endsWith(`:v${version}`), server.image)
    const volumes = [...spec.volumeClaimTemplates.map(({ metadata }) => metadata), ...spec.template.spec.volumes]
    assert.deepEqual(server.volumeMounts.map(({ name }) => name).sort(), volumes.map(({ name }) => name).sort())
    assert.equal(server.volumeMounts.find(({ name }) => name === 'data')?.mountPath, config.dataDir)
  })

  it('runs three with PostgreSQL and a bucket by the command at its top, with secrets that compose makes', () => {
    const [, mark = '', from = '', to = ''] = /sed 's\/(.+?)\/\/; s\/(.+?)\/(.+?)\/'/.exec(manifest) ?? []
    const { data, spec, server, config, files } = partsOf(manifest.replaceAll(mark, '').replaceAll(from, to))
    const { records, blobs, s3Bucket, tsa, anchor } = config
    assert.deepEqual([spec.replicas, records, blobs, tsa, anchor], [3, 'postgres', 's3', 'none', 'none'])
    assert.ok(s3Bucket)
    assert.equal(files.length, 2)
    const secrets = server.volumeMounts.find(({ name }) => name === 'secrets')?.mountPath ?? ''
    const made: readonly string[] =
      readFileSync('server/compose.yaml', 'utf8').match(/(?<=^#.*secrets\/)[\w.-]+/gm) ?? []
    const named = Object.values(data).filter((value) => value.startsWith('/'))
    assert.equal(named.length, 4)
    for (const path of named) assert.ok(made.includes(path.replace(`${secrets}/`, '')), path)
  })

  it('lets probes use only the port that is not in a Service', () => {
    assert.deepEqual(
      manifest.match(/httpGet: .*? port: \w+/g)?.map((probe) => probe.replace(/.* /, '')),
      ['operations', 'operations', 'operations'],
    )
    assert.ok(!/port: 9464|targetPort: operations/.test(manifest))
  })
})
