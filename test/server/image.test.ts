import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'

interface Lock {
  readonly packages: Readonly<Record<string, Package>>
}
interface Package {
  readonly version: string
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

const read = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8'))
const { packages: ofImage } = read<Lock>('server/image/package-lock.json')
const OURS = 'node_modules/evidence-registry'

describe('the lock of the image', () => {
  it('has only packages that the tests use, in the same versions', () => {
    const { packages: tested } = read<Lock>('package-lock.json')
    const idOf = (path: string, { version, integrity }: Package): string =>
      `${path.split('node_modules/').at(-1)} ${version} ${integrity}`
    const known = new Set(Object.entries(tested).map(([path, each]) => idOf(path, each)))
    const found = Object.entries(ofImage).filter(([path]) => path !== '' && path !== OURS)
    assert.ok(found.length > 100)
    const others = found.map(([path, each]) => idOf(path, each)).filter((id) => !known.has(id))
    assert.deepEqual(others, [], 'run `npm run generate:image`')
  })

  it('has what this package depends on', () => {
    const { version, dependencies } = read<Package>('package.json')
    assert.deepEqual([ofImage[OURS]?.version, ofImage[OURS]?.dependencies], [version, dependencies])
  })
})
