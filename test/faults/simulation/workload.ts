import { pick, type Random } from '../../support/bundle-mutations.ts'
import { inCategory } from '../../support/registry-fixture.ts'
import { Client, type ClientFile } from './client.ts'
import { addEvents, Model, type KnownEvidence } from './model.ts'
import type { Step } from './steps.ts'
import { SCOPE, type World } from './world.ts'
import { waitForDay, WORLD_STEPS } from './world-steps.ts'

type UpdateStep = 'describe' | 'transfer' | 'attach files' | 'change everything'

/** Runs steps against a world, and keeps the model of what was acknowledged. */
export class Workload {
  readonly model = new Model()
  readonly client: Client
  readonly #world: World
  readonly #random: Random
  #names = 0

  constructor(world: World, random: Random) {
    this.#world = world
    this.#random = random
    this.client = new Client(world)
  }

  /** Creates the company. */
  async begin(): Promise<void> {
    await this.#addSourceSystem()
  }

  async run(step: Step): Promise<void> {
    this.#world.outside.note(`step: ${step}`)
    await this.#act(step)
    await this.#world.notePublished()
  }

  /** Any evidence, or `undefined` if there is none. */
  #any(): KnownEvidence | undefined {
    const { evidences } = this.model
    return evidences.length === 0 ? undefined : pick(this.#random, evidences)
  }

  #name(start: string): string {
    return `${start}-${this.#names++}`
  }

  #act(step: Step): Promise<unknown> {
    if (step in WORLD_STEPS) return WORLD_STEPS[step as keyof typeof WORLD_STEPS](this.#world, this.#random)
    return this.#writes[step as Exclude<Step, keyof typeof WORLD_STEPS>]()
  }

  readonly #writes: Readonly<Record<Exclude<Step, keyof typeof WORLD_STEPS>, () => Promise<unknown>>> = {
    create: () => this.#create('Tools', Math.floor(this.#random() * 3)),
    'create in a new category': () => this.#create(this.#name('Category'), 1),
    'create many': () => this.#createMany(),
    'create together': () => this.#createTogether(),
    describe: () => this.#updateAny('describe'),
    transfer: () => this.#updateAny('transfer'),
    'attach files': () => this.#updateAny('attach files'),
    'change everything': () => this.#updateAny('change everything'),
    'delete a file': () => this.#deleteFile(),
    'add a category': () => this.#addCategory(),
    'change a category': () => this.#changeCategory(),
    'delete an image': () => this.#deleteImage(),
    'remove a category': () => this.#removeCategory(),
    'add a source system': () => this.#addSourceSystem(),
    seal: () => this.#seal(),
    'wait for a day': async () => {
      await this.#seal()
      await waitForDay(this.#world)
    },
    'rotate the key': () => this.#rotateKey(),
  }

  #updateAny(step: UpdateStep): Promise<void> {
    const evidence = this.#any()
    return evidence === undefined ? this.#create('Tools', 1) : this.#update(evidence, step)
  }

  #rotateKey(): Promise<void> {
    this.#world.keys.add(new Uint8Array(32).fill(100 + this.#names++))
    return this.client.perform({
      name: 'rotate the key',
      run: ({ checkpointKeys }) => checkpointKeys.rotate(),
      acknowledge: () => undefined,
      doneCode: 'CONFIG_ERROR',
    })
  }

  #files(count: number): readonly ClientFile[] {
    return Array.from({ length: count }, () => {
      const name = this.#name('file')
      return { name: `${name}.txt`, content: `content of ${name} `.repeat(1 + Math.floor(this.#random() * 20)) }
    })
  }

  #create(category: string, fileCount: number): Promise<void> {
    const externalId = this.#name('evidence')
    const contents = this.#files(fileCount)
    return this.client.perform({
      name: `create ${externalId}`,
      files: contents,
      run: ({ evidences }, files, options) =>
        evidences.create(SCOPE, { externalId, name: externalId, ...inCategory(category, 'All'), files }, options),
      acknowledge: (created) => {
        if (created === undefined) return
        this.model.addSubcategory(category, 'All')
        const evidence = this.model.addEvidence({ externalId, category, id: created.id }, created.txId)
        evidence.files.push(...contents.map((file) => ({ ...file, isDeleted: false })))
      },
    })
  }

  /** Several clients at the same time, in a category that none of them finds. */
  async #createTogether(): Promise<void> {
    const category = this.#name('Category')
    await Promise.all([this.#create(category, 1), this.#create(category, 0), this.#create(category, 0)])
  }

  async #createMany(): Promise<void> {
    await this.#create('Tools', 0)
    const names = [this.#name('evidence'), this.#name('evidence'), this.#name('evidence')]
    return this.client.perform({
      name: `create ${names.join(', ')}`,
      run: async ({ categories, evidences }, _, options) => {
        const category = (await categories.list(SCOPE)).find(({ name }) => name === 'Tools')
        const [categoryId, subcategoryId] = [category?.id ?? '', category?.subcategories[0]?.id ?? '']
        const inputs = names.map((name) => ({ externalId: name, name }))
        return evidences.createMany(SCOPE, { categoryId, subcategoryId, evidences: inputs }, options)
      },
      acknowledge: (created = []) => {
        for (const [i, { id, txId }] of created.entries())
          this.model.addEvidence({ externalId: names[i] ?? '', category: 'Tools', id }, txId)
      },
    })
  }

  #update(evidence: KnownEvidence, step: UpdateStep) {
    const { externalId } = evidence
    const isAll = step === 'change everything'
    const [description, owner] = [this.#name('description'), this.#name('owner')]
    const contents = isAll || step === 'attach files' ? this.#files(2) : []
    const types = [
      ...(isAll || step === 'describe' ? ['update change'] : []),
      ...(isAll || step === 'transfer' ? ['transfer'] : []),
      ...(contents.length > 0 ? ['update addfile'] : []),
    ]
    return this.client.perform({
      name: `${step} ${externalId}`,
      files: contents,
      run: ({ evidences }, files, options) =>
        evidences.update(
          SCOPE,
          externalId,
          {
            ...((isAll || step === 'describe') && { description }),
            ...((isAll || step === 'transfer') && { owner }),
            ...(files.length > 0 && { files }),
          },
          options,
        ),
      acknowledge: (recorded = []) => {
        addEvents(evidence, types, recorded)
        if (isAll || step === 'describe') evidence.description = description
        if (isAll || step === 'transfer') evidence.owner = owner
        evidence.files.push(...contents.map((file) => ({ ...file, isDeleted: false })))
      },
    })
  }

  async #deleteFile(): Promise<void> {
    const evidence = this.model.evidences.find(({ files }) => files.some(({ isDeleted }) => !isDeleted))
    const file = evidence?.files.find(({ isDeleted }) => !isDeleted)
    if (evidence === undefined || file === undefined) return this.#create('Tools', 1)
    return this.client.perform({
      name: `delete ${file.name}`,
      run: async ({ evidences, files }) => {
        const { evidence: listed } = await evidences.files(SCOPE, evidence.externalId)
        const fileId = listed.find(({ name }) => name === file.name)?.id ?? 'gone'
        await files.delete(SCOPE, { fileId })
      },
      acknowledge: () => {
        file.isDeleted = true
        evidence.events.push({ type: 'update deletefile' })
      },
      doneCode: 'FILE_NOT_FOUND',
    })
  }

  #addCategory(): Promise<void> {
    const name = this.#name('Category')
    return this.client.perform({
      name: `add ${name}`,
      files: this.#files(1),
      run: ({ categories }, [image], options) => categories.create(SCOPE, { name, ...(image && { image }) }, options),
      acknowledge: () => this.model.addSubcategory(name),
    })
  }

  #changeCategory(): Promise<void> {
    const [name] = this.model.categories.keys()
    if (name === undefined) return this.#addCategory()
    // Looked up once, because a retry must also work after the category was removed.
    let id: string | undefined
    return this.client.perform({
      name: `change ${name}`,
      files: this.#files(2),
      run: async ({ categories }, [image, ...files], options) => {
        id ??= (await categories.list(SCOPE)).find((each) => each.name === name)?.id
        const change = { ...(image && { image }), files, description: 'changed' }
        return categories.update(SCOPE, { categoryId: id ?? 'gone' }, change, options)
      },
      acknowledge: () => undefined,
    })
  }

  /** Of a category, so without an event. */
  #deleteImage(): Promise<void> {
    let imageId: string | undefined
    return this.client.perform({
      name: 'delete an image',
      run: async ({ categories, files }) => {
        imageId ??= (await categories.list(SCOPE)).find((each) => each.imageId !== undefined)?.imageId
        if (imageId !== undefined) await files.delete(SCOPE, { fileId: imageId })
      },
      acknowledge: () => undefined,
      doneCode: 'FILE_NOT_FOUND',
    })
  }

  #removeCategory(): Promise<void> {
    const [name] = [...this.model.categories].find(([, subcategories]) => subcategories.size === 0) ?? []
    if (name === undefined) return this.#addCategory()
    return this.client.perform({
      name: `remove ${name}`,
      run: async ({ categories }) => {
        const category = (await categories.list(SCOPE)).find((each) => each.name === name)
        await categories.remove(SCOPE, { categoryId: category?.id ?? 'gone' })
      },
      acknowledge: () => void this.model.categories.delete(name),
      doneCode: 'CATEGORY_NOT_FOUND',
    })
  }

  #addSourceSystem(): Promise<void> {
    const name = this.#name('system')
    return this.client.perform({
      name: `add ${name}`,
      run: ({ sourceSystems }, _, options) =>
        sourceSystems.create(SCOPE, { name, apiKey: `a-key-of-its-own-${name}` }, options),
      acknowledge: () => void this.model.sourceSystems.push(name),
    })
  }

  #seal(): Promise<void> {
    return this.client.perform({
      name: 'seal',
      run: (registry) => registry.sealNow(),
      acknowledge: () => undefined,
      // Sealing has no idempotency key and needs none.
      doneCode: 'CLOSED',
    })
  }
}
