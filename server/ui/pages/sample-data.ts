import { EvidenceRegistryError, type Client } from '../../client/index.ts'
import { randomKey } from './source-system-dialogs.tsx'

export const SAMPLE_COMPANY = 'sample-data'

type Shape = 'wheels' | 'box' | 'round' | 'long'

/** What is recorded. The last word: the owner. */
const SAMPLES: readonly (readonly [id: string, name: string, category: string, kind: string, owner: string, Shape])[] =
  [
    ['BIKE-20417', 'Nordlicht cargo bike', 'Vehicles', 'Bicycles', 'Ada Lovelace', 'wheels'],
    ['BIKE-20388', 'City bike, blue', 'Vehicles', 'Bicycles', 'Grace Hopper', 'wheels'],
    ['CAR-0007', 'Delivery van', 'Vehicles', 'Cars', 'Bolt & Co', 'wheels'],
    ['LAB-0093', 'Stereo microscope M-60', 'Laboratory', 'Optics', 'Ada Lovelace', 'long'],
    ['LAB-0101', 'Centrifuge', 'Laboratory', 'Machines', 'Karen Spärck Jones', 'round'],
    ['WAT-1113', 'Chronograph, steel', 'Jewellery', 'Watches', 'Tom Kilburn', 'round'],
    ['INS-0552', 'Violin, Mittenwald 1911', 'Instruments', 'Strings', 'Margaret Hamilton', 'long'],
    ['CAM-7714', 'Rangefinder camera', 'Cameras', 'Film', 'Ada Lovelace', 'box'],
    ['TOOL-4711', 'Hammer drill, depot 3', 'Tools', 'Drills', 'Bolt & Co', 'long'],
    ['IT-30881', 'Laptop 14", field unit', 'Computers', 'Laptops', 'City Police, unit 7', 'box'],
    ['AUD-0217', 'Flight case with 6 microphones', 'Audio', 'Microphones', 'Karen Spärck Jones', 'box'],
    ['ART-0031', 'Clay bowl', 'Art', 'Ceramics', 'Tom Kilburn', 'round'],
  ]

/** Records the sample evidences, each with a photo that is drawn here. What exists already stays. */
export async function loadSampleData(client: Client, onProgress: (done: number) => void): Promise<void> {
  const unlessDone = (error: unknown): void => {
    if (!(error instanceof EvidenceRegistryError) || (error.status !== 409 && error.status !== 412)) throw error
  }
  await client.createSourceSystem({ name: 'Samples', apiKey: randomKey(), permissions: 'U' }).catch(unlessDone)
  for (const [i, [externalId, name, categoryName, subcategoryName, owner, shape]] of SAMPLES.entries()) {
    const image = new File([await draw(shape, i)], `${externalId}.png`, { type: 'image/png' })
    const evidence = { externalId, name, categoryName, subcategoryName, owner, image, meta: { sample: true } }
    await client.createEvidence(evidence).catch(unlessDone)
    onProgress(i + 1)
  }
  const remark = { updateActionDescription: 'From the yard of depot 3. Sample data.' }
  for (const change of [
    { externalId: 'WAT-1113', actionType: 'stolen', ...remark },
    { externalId: 'INS-0552', actionType: 'repair', updateActionDescription: 'New bridge' },
    { externalId: 'BIKE-20417', owner: 'Grace Hopper' },
  ] as const)
    await client.updateEvidence(change, { ifMatch: 1 }).catch(unlessDone)
}

const [WIDTH, HEIGHT, FLOOR] = [640, 480, 360]
const HUE_STEP = 47

/** A plain drawing: a thing on a floor before a wall. */
function draw(shape: Shape, number: number): Promise<Blob> {
  const canvas = Object.assign(document.createElement('canvas'), { width: WIDTH, height: HEIGHT })
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('This browser cannot draw')
  const hue = (number * HUE_STEP) % 360
  const fill = (color: string, x: number, y: number, width: number, height: number): void => {
    context.fillStyle = color
    context.fillRect(x, y, width, height)
  }
  const ring = (x: number, y: number, radius: number, width: number): void => {
    context.beginPath()
    context.lineWidth = width
    context.arc(x, y, radius, 0, 2 * Math.PI)
    context.stroke()
  }
  fill('#d8dddf', 0, 0, WIDTH, FLOOR)
  for (let x = 0; x < WIDTH; x += 160) fill('#c9d0d3', x, 0, 3, FLOOR)
  fill('#a9a296', 0, FLOOR, WIDTH, HEIGHT - FLOOR)
  const body = `hsl(${hue} 45% 38%)`
  context.strokeStyle = '#23282c'
  if (shape === 'wheels') {
    for (const x of [190, 450]) ring(x, 330, 80, 14)
    fill(body, 190, 190, 260, 60)
    fill('#23282c', 300, 150, 90, 18)
  } else if (shape === 'box') {
    fill(body, 170, 170, 300, 200)
    fill('#23282c', 260, 140, 120, 30)
    ring(320, 270, 62, 16)
  } else if (shape === 'round') {
    context.strokeStyle = body
    ring(320, 240, 120, 44)
    context.strokeStyle = '#23282c'
    ring(320, 240, 70, 8)
    fill('#23282c', 316, 180, 8, 62)
  } else {
    fill(body, 280, 100, 80, 240)
    fill('#23282c', 220, 340, 200, 26)
    ring(320, 170, 26, 10)
  }
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob === null ? reject(new Error('This browser cannot draw')) : resolve(blob)),
      'image/png',
    ),
  )
}
