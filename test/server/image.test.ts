import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'

type Package = Readonly<Partial<Record<'version' | 'integrity', string>>>
const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))

/** The packages of a lock, as texts that name version and content. */
const packagesIn = (path: string): readonly string[] =>
  Object.entries<Package>(read(path).packages)
    .filter(([at, { integrity }]) => at !== '' && integrity !== undefined)
    .map(([at, { version, integrity }]) => `${at.split('node_modules/').at(-1)} ${version} ${integrity}`)

it('the lock of the image has what this package depends on, in the versions that are tested', () => {
  const tested = new Set(packagesIn('package-lock.json'))
  const inImage = packagesIn('server/image/package-lock.json')
  assert.ok(inImage.length > 100)
  const others = inImage.filter((each) => !tested.has(each))
  assert.deepEqual(others, [], 'run `npm run generate:image`')
  const { version, dependencies } = read('server/image/package-lock.json').packages['node_modules/evidence-registry']
  const { version: ofPackage, dependencies: needed } = read('package.json')
  assert.deepEqual([version, dependencies], [ofPackage, needed], 'run `npm run generate:image`')
})
